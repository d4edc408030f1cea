"""What tokens mean: no torch here."""
