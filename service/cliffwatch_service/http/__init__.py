"""HTTP code shared by the API and the pages: authentication, request limits and error responses."""
