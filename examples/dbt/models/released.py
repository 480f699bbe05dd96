"""The visits as they may be published: the model fails where no release keeps the policy."""

import os

import tclose

POLICY = os.environ.get("TCLOSE_POLICY", "../policy.toml")


def model(dbt, session):
    """What dbt calls: the release as a table."""
    dbt.config(materialized="table")
    release = tclose.anonymize(dbt.ref("visits").arrow().read_all(), POLICY, effort=1)
    return release.data
