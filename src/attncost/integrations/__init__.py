"""Other libraries' models, brought to our interfaces."""
