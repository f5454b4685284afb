raise PermissionError(13, 'Permission denied', '/data')
