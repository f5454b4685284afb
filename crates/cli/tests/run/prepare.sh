#!/bin/sh
# An init program that plays its part in a scenario: the files of its task in $STAGE tell it what to do.
#   lives    how many programs the task has had; one that does not start because of us counts
#   init-N   before the Nth: anything, and the code to end with
task=${TRAINYARD_TASK#*/}
place=$STAGE/${task%%.*}
life=0
[ -e "$place/lives" ] && read -r life < "$place/lives"
if [ -e "$place/init-$life" ]; then
    read -r _ code < "$place/init-$life"
    echo $((life + 1)) > "$place/lives"
    case $code in
    137) kill -KILL $$ ;;
    *) exit "$code" ;;
    esac
fi
