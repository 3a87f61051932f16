"""Programs that the suite builds from pinned sources."""
