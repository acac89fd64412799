"""Where the time of a call goes: by operator, by module, by kind of work."""
