"""Tests in a real JupyterLab, which they share: a package, so that fixtures may be of it."""
