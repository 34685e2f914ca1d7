-- What the numbers of this build stand for: the window and the knowledge time.
--
-- grain: window_start

select
    getvariable('window_start')::timestamptz as window_start,
    getvariable('window_end')::timestamptz as window_end,
    getvariable('as_of')::timestamptz as as_of
