"""Our small SVG writer: charts that stand on their own, without script or request."""
