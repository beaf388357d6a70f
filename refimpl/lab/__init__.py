"""What is written once, over any implementation: data, training, programs."""
