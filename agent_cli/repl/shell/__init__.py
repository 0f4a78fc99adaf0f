"""The interactive session on the screen: the loop, approvals, the first start, and the drawing of turns."""
