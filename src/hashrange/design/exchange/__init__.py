"""Models in other formats: templates of infrastructure, Workbench files, policies, and Python."""
