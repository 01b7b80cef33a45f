"""What failures look like in logs: a library that users extend, and the lines that may be one."""
