"""Laws of time: fitted to samples, with intervals and a verdict."""
