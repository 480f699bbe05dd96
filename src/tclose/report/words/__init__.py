"""What pictures and tables of one result say alike: its name, its marks and its state in words."""
