# Rows put in order by counting their keys.
