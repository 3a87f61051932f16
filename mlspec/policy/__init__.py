"""Policy: what works, but should not be, unless somebody says why; one function a rule, judged on what will exist."""
