"""A transformer for scikit-learn that learns how to recode rows, and recodes them.

Needs scikit-learn: the extra `learn`. Nothing else in the package imports it.
"""

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError:
    raise ImportError("tclose.learn needs scikit-learn: pip install 'tclose[learn]'") from None

from tclose.learn.anonymizer import Anonymizer

__all__ = ["Anonymizer"]
