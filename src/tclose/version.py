"""The version of tclose, for everyone who states it."""

VERSION = "0.1.0"
