LISTEN seriatim
