"""The lab where no Python answers: pages without a script, and a page that still steps."""
