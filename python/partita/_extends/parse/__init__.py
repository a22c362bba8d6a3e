"""Names of the documented compiler's front end that libraries import."""
