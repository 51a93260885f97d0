"""Security: the identity of this process, and the authentication of others."""
