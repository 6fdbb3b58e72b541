"""Questions to a service, answered briefly: the tools of `cliffwatch mcp`."""
