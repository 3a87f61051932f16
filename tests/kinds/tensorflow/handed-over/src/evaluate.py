print('evaluates')
