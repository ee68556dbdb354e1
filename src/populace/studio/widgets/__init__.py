"""Parts that several pages share: charts, tables, form fields, redrawing."""
