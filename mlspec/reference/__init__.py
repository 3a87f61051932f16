"""The models in, what a user may write about every field out: for `mlspec explain FIELD` and docs/spec.md.

`fields` walks the models, `words` says types and values as users write them, `find` knows which field is meant,
`text` and `page` print.
"""
