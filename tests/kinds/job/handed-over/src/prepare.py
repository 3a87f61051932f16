print('prepares')
