"""The pages: what people look at. Server-rendered, and whole without JavaScript."""
