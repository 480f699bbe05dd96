"""The scikit-learn face: a transformer that learns how to recode rows, and recodes them.

`anonymizer` is the estimator: `fit` learns and verifies a plan, `transform` follows it. `roles`
makes a policy of its parameters, `recoder` knows the class of a row and what that is released as,
and `containers` takes arrays and frames and gives the same kind back.

Needs scikit-learn: the extra `learn`. Nothing else of the house imports this room.
"""

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError:
    raise ImportError("tclose.learn needs scikit-learn: pip install 'tclose[learn]'") from None

from tclose.learn.anonymizer import Anonymizer

__all__ = ["Anonymizer"]
