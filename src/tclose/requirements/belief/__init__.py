"""How much the class changes what anybody may believe about a value."""
