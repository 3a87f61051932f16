print('trains')
