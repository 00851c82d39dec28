#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# A program that works on files and writes down, outside the file system under test, what it was told had succeeded; and the
# check that all of it is there. Any error of a system call ends the worker with status 1 and one line.
#
#   ledger.pl work DIR LEDGER STOP SEED    changes files in DIR until the file STOP exists
#   ledger.pl verify DIR LEDGER            DIR must hold exactly what LEDGER says
#
# A line of the ledger is "begin OPERATION..." before the operation and "done" after its last close, fsync or other call has
# returned. When the last line is a begin, the worker was killed in the middle: its file may be in either state.
# Content of a file is made of its operations alone, so that it can be computed again from the ledger.
use strict;
use warnings;
use Fcntl;
use IO::Handle;

# $length bytes that name their tag and place every few bytes.
sub content {
    my ($tag, $length) = @_;
    my $text = '';
    for (my $at = 0; $at < $length; $at = length $text) { $text .= "[$tag@" . $at . "]" }
    return substr($text, 0, $length);
}

# What a file holds after an operation; undef: there is none. Also the plan of the worker.
sub outcome {
    my ($files, $operation, $name, @rest) = @_;
    if ($operation eq 'put') { $files->{$name} = content(@rest) }
    elsif ($operation eq 'append') { $files->{$name} .= content(@rest) }
    elsif ($operation eq 'overwrite') {
        my ($tag, $length, $offset) = @rest;
        return if $length == 0; # a write of nothing makes no file longer
        my $old = $files->{$name};
        $old .= "\0" x ($offset - length $old) if length $old < $offset;
        substr($old, $offset, $length) = content($tag, $length);
        $files->{$name} = $old;
    }
    elsif ($operation eq 'truncate') {
        my ($length) = @rest;
        my $old = $files->{$name};
        $files->{$name} = $length <= length $old ? substr($old, 0, $length) : $old . "\0" x ($length - length $old);
    }
    elsif ($operation eq 'rename') { $files->{$rest[0]} = delete $files->{$name} }
    elsif ($operation eq 'unlink') { delete $files->{$name} }
    else { die "ledger: unknown operation $operation\n" }
}

sub failed { my ($what) = @_; die "worker: $what: $!\n" }

sub write_all {
    my ($file, $data, $name) = @_;
    for (my $at = 0; $at < length $data;) {
        my $n = syswrite($file, $data, 40_000, $at);
        failed("write $name") unless defined $n;
        $at += $n;
    }
}

# Does to the real file what outcome() says. Half of the files are synced before their close.
sub perform {
    my ($dir, $operation, $name, @rest) = @_;
    my $path = "$dir/$name";
    if ($operation eq 'rename') { rename($path, "$dir/$rest[0]") or failed("rename $name"); return }
    if ($operation eq 'unlink') { unlink($path) or failed("unlink $name"); return }
    my %flags = (put => O_WRONLY | O_CREAT | O_TRUNC, append => O_WRONLY | O_APPEND, overwrite => O_RDWR, truncate => O_RDWR);
    sysopen(my $file, $path, $flags{$operation}, 0644) or failed("open $name");
    if ($operation eq 'truncate') { truncate($file, $rest[0]) or failed("truncate $name") }
    else {
        if ($operation eq 'overwrite') { defined sysseek($file, $rest[2], 0) or failed("seek $name") }
        write_all($file, content(@rest[0, 1]), $name);
    }
    if (rand() < 0.5) { $file->sync or failed("fsync $name") }
    close($file) or failed("close $name");
}

sub plan {
    my ($files, $number) = @_;
    my @names = sort keys %$files;
    my $any = @names ? $names[rand @names] : undef;
    my $tag = "t$number";
    my $length = rand() < 0.2 ? int rand 300_000 : int rand 9_000;
    my $dice = rand();
    return ('put', "f$number", $tag, $length) if !defined $any || $dice < 0.4 && @names < 200;
    return ('append', $any, $tag, $length) if $dice < 0.55;
    return ('overwrite', $any, $tag, $length, int rand(length($files->{$any}) + 5000)) if $dice < 0.7;
    return ('truncate', $any, int rand(length($files->{$any}) + 5000)) if $dice < 0.8;
    return ('put', $any, $tag, $length) if $dice < 0.85;
    return ('rename', $any, rand() < 0.5 ? $names[rand @names] : "r$number") if $dice < 0.93;
    return ('unlink', $any);
}

sub work {
    my ($dir, $ledger_path, $stop, $seed) = @_;
    my %files;
    srand $seed;
    open(my $ledger, '>', $ledger_path) or failed("ledger $ledger_path");
    $ledger->autoflush(1);
    for (my $number = 1; !-e $stop; $number++) {
        my @operation = plan(\%files, $number);
        next if $operation[0] eq 'rename' && $operation[1] eq $operation[2];
        print $ledger "begin @operation\n";
        perform($dir, @operation);
        outcome(\%files, @operation);
        print $ledger "done\n";
    }
}

sub load_file {
    my ($path) = @_;
    open(my $file, '<', $path) or return undef;
    local $/;
    my $data = <$file>;
    close($file) or return undef;
    return $data // '';
}

sub verify {
    my ($dir, $ledger_path) = @_;
    my (%files, @pending, $operations);
    open(my $ledger, '<', $ledger_path) or failed("ledger $ledger_path");
    while (my $line = <$ledger>) {
        chomp $line;
        if ($line eq 'done') { outcome(\%files, @pending); @pending = (); $operations++ }
        elsif ($line =~ /^begin (.*)/) { @pending = split / /, $1 }
    }
    my %unsure = map { $_ => 1 } @pending ? ($pending[1], $pending[0] eq 'rename' ? $pending[2] : ()) : ();
    my $wrong = 0;
    for my $name (sort keys %files) {
        next if $unsure{$name};
        my $data = load_file("$dir/$name");
        if (!defined $data) { print "$name: not there ($!)\n"; $wrong++ }
        elsif ($data ne $files{$name}) {
            my ($have, $want, $at) = (length $data, length $files{$name}, 0);
            $at++ while $at < $have && $at < $want && substr($data, $at, 1) eq substr($files{$name}, $at, 1);
            print "$name: $have bytes instead of $want, different from byte $at\n";
            $wrong++;
        }
    }
    opendir(my $handle, $dir) or failed("directory $dir");
    for my $name (sort readdir $handle) {
        next if $name =~ /^\.\.?$/ || exists $files{$name} || $unsure{$name};
        print "$name: is there, but should not be\n";
        $wrong++;
    }
    printf "%d operations, %d files, %d wrong\n", $operations // 0, scalar keys %files, $wrong;
    exit 1 if $wrong;
}

my ($command, @arguments) = @ARGV;
if (($command // '') eq 'work' && @arguments == 4) { work(@arguments) }
elsif (($command // '') eq 'verify' && @arguments == 2) { verify(@arguments) }
else { print STDERR "usage: ledger.pl work DIR LEDGER STOP SEED | verify DIR LEDGER\n"; exit 2 }
