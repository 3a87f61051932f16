// This file is empty: with it the compiler lets Go files declare functions whose bodies are elsewhere.
