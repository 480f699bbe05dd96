"""The scikit-learn face: a transformer that learns how to recode rows, and recodes them.

- `anonymizer`  the estimator: `fit` learns and verifies a plan, `transform` follows it
- `roles`       its parameters as a policy
- `recoder`     what it has learned: the class of a row, and what that is released as
- `containers`  arrays and frames in, the same kind out
- `refusing`    errors of the house as the kind that scikit-learn expects

Needs scikit-learn: the extra `learn`. Nothing else of the house imports this room.
"""

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError:
    raise ImportError("tclose.learn needs scikit-learn: pip install 'tclose[learn]'") from None

from tclose.learn.anonymizer import Anonymizer

__all__ = ["Anonymizer"]
