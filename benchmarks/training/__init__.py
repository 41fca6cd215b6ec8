"""What training within a budget costs, beside what else keeps activation memory small."""
