"""What is known of an arm besides what its boots measured."""
