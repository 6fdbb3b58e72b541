"""From what a person asks to what will be built and booted; everything is checked before anything is done."""
