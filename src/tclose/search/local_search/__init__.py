"""The default search: stratified splits, then destroy and repair, swaps, suppression."""
