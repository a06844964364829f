"""Problems for reviewers: rules that were broken, and samples that wait."""
