"""Access control: tokens, the rights of callers, and their quotas."""
