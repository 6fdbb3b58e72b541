"""Parts that all pages share: rendering, sign-in, drawing and wording."""
