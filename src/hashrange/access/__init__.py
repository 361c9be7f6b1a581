"""Who may do what: principals, their policies, and the evaluation of a request against them.

This package does not know the operations: to it, a request is an action on a resource, with
condition keys. Source: IAM user guide, "IAM JSON policy elements", "Policy evaluation logic".
"""
