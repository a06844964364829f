"""What every page needs: doors, HTML, charts, files, compression."""
