#!/bin/sh
# A trainer that plays its part in a scenario: the files of its task in $STAGE tell it what to do.
#   lives    how many programs the task has had
#   end-N    of the Nth: seconds until it ends by itself, and its code
#   term     how many seconds it takes to end when it is told to, and its code
task=${TRAINYARD_TASK#*/}
place=$STAGE/${task%%.*}
life=0
[ -e "$place/lives" ] && read -r life < "$place/lives"
echo $((life + 1)) > "$place/lives"

told() {
    trap '' TERM
    read -r seconds code < "$place/term"
    sleep "$seconds"
    exit "$code"
}
trap told TERM

if [ -e "$place/end-$life" ]; then
    read -r after code < "$place/end-$life"
    sleep "$after" &
    wait $!
    case $code in
    137) kill -KILL $$ ;;
    143) trap - TERM && kill -TERM $$ ;;
    *) exit "$code" ;;
    esac
fi
while :; do
    sleep 3600 &
    wait $!
done
