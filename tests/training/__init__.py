"""Tests of the training programs, which they start as users do: by subprocess."""
