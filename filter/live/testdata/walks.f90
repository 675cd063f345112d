! Prints its mappings, and then stacks of gfortran's runtime: of a call in a recursion, of a fault, and of an error.
program walks
  implicit none
  character(len=200) :: line
  integer :: status
  open (10, file='/proc/self/maps', status='old')
  do
    read (10, '(a)', iostat=status) line
    if (status /= 0) exit
    write (*, '(a)') trim(line)
  end do
  flush (6)
  call deep(3)
  call get_command_argument(1, line)
  if (line == 'fault') call fault()
  if (line == 'error') call outside()
contains
  recursive subroutine deep(n)
    integer, intent(in) :: n
    if (n == 0) then
      call backtrace()
    else
      call deep(n - 1)
      print *, n
    end if
  end subroutine
  subroutine fault()
    integer, pointer :: nowhere
    nowhere => null()
    call set(nowhere)
    print *, 'after'
  end subroutine
  subroutine set(to)
    integer, pointer :: to
    if (command_argument_count() > 0) to = 4
  end subroutine
  subroutine outside()
    integer, allocatable :: a(:)
    allocate (a(3))
    print *, a(command_argument_count() + 5)
  end subroutine
end program
