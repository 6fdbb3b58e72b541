"""Response models of the API. Clients are generated from their OpenAPI description."""
