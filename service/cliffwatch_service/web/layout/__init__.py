"""What all pages share: rendering, sign-in, drawing, words."""
