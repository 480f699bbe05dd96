"""All compiled code: what the searches and distances do in their innermost loops."""
