"""The distances, one file each: their mathematics, and how a policy asks for them."""
