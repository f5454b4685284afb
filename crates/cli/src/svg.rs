//! Drawing: shapes and text as SVG, with nothing from outside the file.
